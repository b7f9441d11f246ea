"use strict";
// Nothing but what was verified is loaded: built-in modules, files of the run's private folder, and
// packages of the folders that you let in with `rye trust allow-deps` (RYE_DEPS). Node by itself
// would look for packages in every folder above a file, in your home and beside its own program.
const Module = require("node:module");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

// This file is `<private folder>/lib<n>/lib/guard.cjs`.
const pin = path.join(__dirname, "..", "..");
const deps = JSON.parse(process.env.RYE_DEPS || "[]");
const roots = [pin, ...deps].map((folder) => folder + path.sep);
const inside = (file) => roots.some((root) => file.startsWith(root));
const isRelative = (request) => /^\.\.?(\/|$)/.test(request);
const isBare = (request) => !/^([./#]|[a-z][a-z0-9+.-]*:)/i.test(request);
const hint = "packages come from folders that you let in: `rye trust allow-deps DIR`";

function refusal(request, place) {
  const error = new Error(`'${request}' leads to ${place}, which no signature covers; ${hint}`);
  error.code = "ERR_RYE_OUTSIDE";
  error.stack = `Error [${error.code}]: ${error.message}`;
  return error;
}

// require(): the folders that are searched, then what was found.
const lookup = Module._resolveLookupPaths;
Module._resolveLookupPaths = function (request, parent) {
  const folders = Reflect.apply(lookup, this, arguments);
  if (!Array.isArray(folders) || isRelative(request)) return folders;
  return folders.filter((folder) => inside(folder + path.sep)).concat(deps);
};
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function (request) {
  let found;
  try {
    found = Reflect.apply(resolveFilename, this, arguments);
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND" && isBare(request)) error.message += `\n${hint}`;
    throw error;
  }
  if (Module.isBuiltin(found) || inside(found)) return found;
  throw refusal(request, found);
};

// Native addons.
const dlopen = process.dlopen;
process.dlopen = function (module, file) {
  const real = fs.realpathSync(file);
  if (!inside(real)) throw refusal(file, real);
  return Reflect.apply(dlopen, this, arguments);
};

// import: packages are looked for from the importing file, then from the folders you let in.
const hooks = `
  import { fileURLToPath } from "node:url";
  let roots = [], bases = [], hint = "";
  export const initialize = (data) => ({ roots, bases, hint } = data);
  const isBare = ${isBare};
  const refusal = ${refusal};
  const inside = (url) => {
    if (!url.startsWith("file:")) return true;
    const file = fileURLToPath(url);
    return roots.some((root) => file.startsWith(root));
  };
  export async function resolve(specifier, context, next) {
    let first;
    for (const parentURL of [context.parentURL, ...(isBare(specifier) ? bases : [])]) {
      try {
        const found = await next(specifier, { ...context, parentURL });
        if (inside(found.url)) return found;
        first ??= refusal(specifier, found.url);
      } catch (error) {
        first ??= error;
      }
    }
    if (first.code === "ERR_MODULE_NOT_FOUND" && isBare(specifier)) {
      first.message += "; " + hint;
      first.stack = "Error [" + first.code + "]: " + first.message;
    }
    throw first;
  }
`;
const bases = deps.map((folder) => pathToFileURL(path.join(folder, "_")).href);

let isHooked = false;
function hook() {
  if (isHooked) return;
  isHooked = true;
  if (Module.registerHooks) {
    const text = hooks
      .replace(/^\s*import .*$/m, "")
      .replace(/export |async |await /g, "");
    const { fileURLToPath } = require("node:url");
    const { initialize, resolve } = new Function(
      "fileURLToPath",
      `${text}; return { initialize, resolve };`,
    )(fileURLToPath);
    initialize({ roots, bases, hint });
    Module.registerHooks({
      // A require() was judged above.
      resolve: (specifier, context, next) =>
        context.conditions?.includes("require")
          ? next(specifier, context)
          : resolve(specifier, context, next),
    });
    return;
  }
  if (!Module.register) throw new Error("rye needs Node.js 20.6 or later for `import`");
  const url = `data:text/javascript,${encodeURIComponent(hooks)}`;
  Module.register(url, { data: { roots, bases, hint } });
}

// Before Node.js 22.15 hooks cost a thread and 24 ms. A program whose every import names, in plain
// sight, a built-in module or a pinned file needs none.
const FORM = /^import\s*(?:[\w$\s,*{}]+?\s*from\s*)?(["'])([^"'\\\n]+)\1/;
const EXPORT = /^export\s*(?:\*\s*(?:as\s+[\w$]+\s*)?|\{[^}]*\}\s*)from\s*(["'])([^"'\\\n]+)\1/;
const PLAIN = /^export\s+(?:const|let|var|function|async|class|default)\b|^export\s*\{[^}]*\}\s*(?:;|\n|$)(?!\s*(?:from|\/))/;
function isPlain(text, file, seen) {
  if (/\b(eval|Function)\b/.test(text)) return false;
  for (const { 0: word, index } of text.matchAll(/(?<!(?<!\.\.)\.)(?<![\w$])(?:import|export)(?![\w$])/g)) {
    const rest = text.slice(index, index + 4096);
    if (word === "import" ? /^import\s*\.\s*meta\b/.test(rest) : PLAIN.test(rest)) continue;
    const specifier = (word === "import" ? FORM : EXPORT).exec(rest)?.[2];
    if (!specifier || !isPinned(specifier, file, seen)) return false;
  }
  return true;
}
function isPinned(specifier, file, seen) {
  if (Module.isBuiltin(specifier)) return true;
  if (!isRelative(specifier) || /[%?#]/.test(specifier)) return false;
  const next = path.join(path.dirname(file), specifier);
  return next.startsWith(pin + path.sep) && isPlainFile(next, seen);
}
function isPlainFile(file, seen = new Set()) {
  if (seen.has(file) || file.endsWith(".json")) return true;
  seen.add(file);
  try {
    return isPlain(fs.readFileSync(file, "utf8"), file, seen);
  } catch {
    return false;
  }
}

const { isMainThread, parentPort } = require("node:worker_threads");
if (!isMainThread && !parentPort) {
  // The thread of the hooks themselves, which loads no program.
} else if (Module.registerHooks || !isMainThread) {
  hook();
} else {
  const compile = Module.prototype._compile;
  Module.prototype._compile = function (text, file) {
    if (!isHooked && /(?<!(?<!\.\.)\.)(?<![\w$])import(?![\w$])|\b(eval|Function)\b/.test(text)) hook();
    return Reflect.apply(compile, this, arguments);
  };
  const entry = process.argv[1];
  if (entry && !entry.endsWith(".cjs") && !isPlainFile(entry)) hook();
}
