// What a snippet finds beside the language. It runs before the snippet, so that what it takes from
// the language here is the language's own.
(function (send, print, params) {
    'use strict';
    const { apply } = Reflect;
    const { defineProperty: define } = Object;
    const { Error: BaseError, Proxy: BaseProxy, RegExp: BaseRegExp } = globalThis;
    const { isView } = ArrayBuffer;
    const { isArray } = Array;
    const hidden = (of, name, value) =>
        define(of, name, { value, writable: true, enumerable: false, configurable: true });

    class ToolError extends BaseError {}
    hidden(ToolError.prototype, 'name', 'ToolError');

    const functions = { __proto__: null };
    const names = [
        'runTool', 'runChain', 'searchTools', 'listNamespaces', 'describeTool', 'listToolExamples',
    ];
    for (const name of names) {
        // The error is made here, where the stack still says who calls.
        functions[name] = { [name](...args) { return send(name, args, new ToolError()); } }[name];
        hidden(globalThis, name, functions[name]);
    }
    const { runTool } = functions;

    const tools = (path) => new BaseProxy(() => {}, {
        __proto__: null,
        get: (_, key) => typeof key === 'symbol' || key === 'then'
            ? undefined
            : tools(path === '' ? key : path + '/' + key),
        apply: (_, _this, args) => apply(runTool, undefined, [path, ...args]),
        set: () => false,
        defineProperty: () => false,
    });
    hidden(globalThis, 'tools', tools(''));
    hidden(globalThis, 'ToolError', ToolError);
    hidden(globalThis, 'params', params);

    const out = (...args) => print(false, args);
    const err = (...args) => print(true, args);
    hidden(globalThis, 'println', { println: (...args) => print(false, args) }.println);
    hidden(globalThis, 'console', { log: out, info: out, debug: out, warn: err, error: err });

    // Whether `__out` was assigned, also to a value that says nothing.
    const result = { value: undefined, isAssigned: false };
    define(globalThis, '__out', {
        get: () => result.value,
        set(value) { result.value = value; result.isAssigned = true; },
        enumerable: false,
        configurable: true,
    });

    // They wait without end, and are for several threads.
    delete globalThis.Atomics;
    delete globalThis.SharedArrayBuffer;

    // What an object is beside its properties, for those that are not plain.
    const brands = [
        ['Map', Map.prototype.has], ['Set', Set.prototype.has],
        ['WeakMap', WeakMap.prototype.has], ['WeakSet', WeakSet.prototype.has],
        ['WeakRef', WeakRef.prototype.deref],
    ];
    const unboxed = [
        Number.prototype.valueOf, String.prototype.valueOf, Boolean.prototype.valueOf,
        BigInt.prototype.valueOf,
    ];
    const bytes = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;
    // Of the getters this one alone looks at what is inside of the object.
    const source = Object.getOwnPropertyDescriptor(BaseRegExp.prototype, 'source').get;
    const isRegExp = (value) => value !== BaseRegExp.prototype && accepts(source, value);
    const tag = Symbol.toStringTag;
    const accepts = (method, value, ...more) => {
        try { apply(method, value, more); return true; } catch { return false; }
    };
    const kind = (value) => {
        if (isView(value) || isArray(value)) return 'list';
        for (const [name, method] of brands) if (accepts(method, value, {})) return name;
        if (accepts(bytes, value)) return 'ArrayBuffer';
        if (isRegExp(value)) return 'RegExp';
        for (const method of unboxed) if (accepts(method, value)) return 'boxed';
        return typeof value[tag] === 'string' ? value[tag] : '';
    };
    const unbox = (value) => {
        for (const method of unboxed) {
            try { return apply(method, value, []); } catch { /* another kind */ }
        }
    };
    return { kind, unbox, bigint: BigInt, isAssigned: () => result.isAssigned };
})
