# /// rye
# version = "1.0.0"
# executor_id = "rye/core/runtimes/python/script"
# description = "Files of the skill SKILL_NAME"
# FILES_LINE
# EXEC_FILES_LINE
# [sandbox.fs]
# write = ["{project_path}"]
# [input_schema]
# type = "object"
# [input_schema.properties]
# file = {type = "string", description = "the path of one file, which is printed"}
# to = {type = "string", description = "a folder of the project that is not there yet; all files are put into it"}
# ///
# SIGNED_LINE
import base64
import json
import os
import shutil
import sys

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "SKILL_FOLDER")
# Nothing else that lies there is given out.
names = [
    "FILE_NAMES",
]
params = json.load(sys.stdin)
answer = {"files": names}
if params.get("to"):
    project = os.path.realpath(os.getcwd())
    to = os.path.realpath(os.path.join(project, params["to"]))
    if not to.startswith(project + os.sep):
        answer = {"success": False, "error": "that folder is not one of the project"}
    elif ".ai" in os.path.relpath(to, project).split(os.sep):
        answer = {"success": False, "error": "`.ai` holds items, and nothing is put there"}
    elif os.path.exists(to):
        answer = {"success": False, "error": "that folder is there already"}
    else:
        for name in names:
            place = os.path.join(to, name)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            source = os.path.join(here, name)
            shutil.copyfile(source, place)
            os.chmod(place, 0o755 if os.access(source, os.X_OK) else 0o644)
        answer["folder"] = to
elif params.get("file"):
    if params["file"] not in names:
        answer = {"success": False, "error": "there is no such file", "files": names}
    else:
        with open(os.path.join(here, params["file"]), "rb") as file:
            content = file.read()
        try:
            answer = {"text": content.decode()}
        except UnicodeDecodeError:
            answer = {"base64": base64.b64encode(content).decode()}
print(json.dumps(answer))
sys.exit(0 if answer.get("success", True) else 1)
