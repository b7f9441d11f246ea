"""Runs a pinned tool in Python: run.py script|function TOOL ROOT

TOOL is the verified copy of the tool, ROOT the folder of its verified modules; both lie in the private
folder of the run, RYE_PIN. Modules are found in Python's own library first, then below ROOT and in the
folders of PYTHONPATH that lie in RYE_PIN, then among the installed packages. The working directory and
the folder where the tool was written are never looked at, and the byte code of a module beside the tool
is neither read nor written.
"""


def pinned_modules(tool, root):
    """Makes the verified modules importable: behind Python's own library, before what is installed.

    The tool itself is no module: it may have the name of a package that it uses.
    """
    import os
    import sys
    from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
    from importlib.machinery import ExtensionFileLoader, FileFinder, SourceFileLoader

    class VerifiedSource(SourceFileLoader):
        """Compiles the verified text each time."""

        def get_code(self, name):
            path = self.get_filename(name)
            return self.source_to_code(self.get_data(path), path)

    class Modules(FileFinder):
        def find_spec(self, name, target=None):
            spec = super().find_spec(name, target)
            return None if spec and spec.origin == tool and self.path == root else spec

    private = os.environ["RYE_PIN"] + os.sep

    def is_private(folder):
        return (folder + os.sep).startswith(private) and ".." not in folder.split(os.sep)

    def finder(folder):
        if not is_private(folder):
            raise ImportError("not a folder of verified modules", path=folder)
        loaders = (ExtensionFileLoader, EXTENSION_SUFFIXES), (VerifiedSource, SOURCE_SUFFIXES)
        return Modules(folder, *loaders)

    sys.path_hooks.insert(0, finder)
    library = os.path.dirname(os.__file__)
    own = (library, os.path.join(library, "lib-dynload"))
    behind = [at for at, folder in enumerate(sys.path, 1) if folder in own]
    place = max(behind, default=len(sys.path))
    for folder in [root, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]:
        if is_private(folder) and folder not in sys.path:
            sys.path.insert(place, folder)
            place += 1


def teller(tool):
    """What prints a traceback as the author knows the files, without the frames of this one."""
    import os
    import sys

    own, pin = __file__, os.environ["RYE_PIN"] + os.sep
    item = os.environ.get("RYE_ITEM_PATH", tool)
    project = os.environ.get("RYE_PROJECT", "") + os.sep

    def named(path):
        """The file that the author has: the private copies lie to each other as the files do."""
        if not path or not path.startswith(pin) or path == own:
            return path
        beside = os.path.relpath(path, os.path.dirname(tool))
        path = item if path == tool else os.path.normpath(os.path.join(os.path.dirname(item), beside))
        return path[len(project) :] if path.startswith(project) else path

    def tell(kind, error, trace):
        import traceback

        while trace and trace.tb_frame.f_code.co_filename == own:
            trace = trace.tb_next
        whole = traceback.TracebackException(kind, error, trace)
        seen, todo = [], [whole]
        while todo:
            one = todo.pop()
            if one is None or any(one is other for other in seen):
                continue
            seen.append(one)
            for frame in one.stack:
                frame.filename = named(frame.filename)
            if isinstance(getattr(one, "filename", None), str):
                one.filename = named(one.filename)
            todo += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
        sys.stderr.write("".join(whole.format()))

    return tell


def read(path):
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def takes_two(execute):
    """Tells whether two values may be given by place."""
    # A plain function says so itself; `inspect` takes as long to load as all of the rest.
    if type(execute) is type(takes_two) and not execute.__dict__:
        code = execute.__code__
        return code.co_argcount > 1 or bool(code.co_flags & 4)
    import inspect

    kinds = [p.kind for p in inspect.signature(execute).parameters.values()]
    places = sum(k in (k.POSITIONAL_ONLY, k.POSITIONAL_OR_KEYWORD) for k in kinds)
    return places > 1 or any(k is k.VAR_POSITIONAL for k in kinds)


def function(tool):
    """Calls execute(params, project_path) of the tool; gives the answer as text, and whether it failed."""
    import json
    import os
    import sys

    data = sys.stdin.buffer.read()
    params = json.loads(data) if data.strip() else {}
    module = type(sys)("rye_tool")
    module.__file__ = tool
    sys.modules["rye_tool"] = module
    exec(read(tool), module.__dict__)
    execute = getattr(module, "execute", None)
    if not callable(execute):
        raise TypeError("the tool defines no function execute(params, project_path)")
    project = os.environ.get("RYE_PROJECT") or os.getcwd()
    result = execute(params, project) if takes_two(execute) else execute(params)
    if hasattr(result, "__await__"):
        import asyncio

        async def wait(awaitable):
            return await awaitable

        result = asyncio.run(wait(result))
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    return text, isinstance(result, dict) and result.get("success") is False


def answer_of(tool):
    """Like function(), with an exception as an answer; what the tool prints goes to standard error."""
    import json
    import os
    import sys

    # The real standard output is kept for the result alone; file descriptor 1 becomes 2.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        text, failed = function(tool)
    except BaseException as error:
        sys.stdout.flush()
        teller(tool)(type(error), error, error.__traceback__)
        message = type(error).__name__ + ": " + str(error)
        failure = {"success": False, "error": message}
        text, failed = json.dumps(failure, ensure_ascii=False), True
    answer.write(text.encode("utf-8", "replace") + b"\n")
    answer.close()
    sys.exit(1 if failed else 0)


def main():
    """Gives the code of a script, which becomes the program; a function is called here."""
    import sys

    how, tool, root = sys.argv[1:4]
    sys.argv[:] = [tool]
    pinned_modules(tool, root)
    if how == "function":
        answer_of(tool)
    sys.excepthook = teller(tool)
    code = read(tool)
    program = sys.modules["__main__"].__dict__
    # The script starts with a clean sheet.
    for name in [name for name in program if not name.startswith("__")]:
        del program[name]
    program.update(__file__=tool, __doc__=None)
    return code


exec(main())
