"use strict";
// Nothing but what was verified is loaded: built-in modules, files of the run's private folder, and
// packages of the folders that you let in with `rye trust allow-deps` (RYE_DEPS). Node by itself
// would look for packages in every folder above a file, in your home and beside its own program.
const Module = require("node:module");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

// Node.js drops the types of TypeScript from 22.18 on; before that it fails with a stack that says
// nothing of them.
if (/\.[cm]?ts$/.test(process.argv[1] || "") && !process.features.typescript) {
  process.stderr.write(`TypeScript takes Node.js 22.18 or later; this is ${process.version}\n`);
  process.exit(1);
}

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

function hook() {
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

const { isMainThread, parentPort } = require("node:worker_threads");
// The thread of the hooks themselves, before Node.js 22.15, loads no program.
if (isMainThread || parentPort) hook();
