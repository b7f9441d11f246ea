// What a snippet finds beside the language. It runs before the snippet, so that what it takes from
// the language here is the language's own.
(function (send, print, params, start, seed) {
    'use strict';
    const { apply } = Reflect;
    const { defineProperty: define } = Object;
    const { Error: BaseError, Proxy: BaseProxy, RegExp: BaseRegExp } = globalThis;
    const { isView } = ArrayBuffer;
    const { isArray } = Array;
    const { toPrimitive } = Symbol;
    const hidden = (of, name, value) =>
        define(of, name, { value, writable: true, enumerable: false, configurable: true });

    class ToolError extends BaseError {}
    hidden(ToolError.prototype, 'name', 'ToolError');

    const functions = { __proto__: null };
    const names = [
        'runTool', 'runChain', 'searchTools', 'listNamespaces', 'describeTool', 'listToolExamples',
    ];
    // Calls whose answers were not taken: whatever waits for a promise asks it for its constructor.
    const { prototype: basePromise } = Promise;
    const dropped = { calls: 0 };
    const watched = (promise) => {
        let isTaken = false;
        dropped.calls++;
        const get = () => {
            if (!isTaken) { isTaken = true; dropped.calls--; }
            return basePromise.constructor;
        };
        return define(promise, 'constructor', { get, enumerable: false, configurable: true });
    };
    for (const name of names) {
        // The error is made here, where the stack still says who calls.
        functions[name] = {
            [name](...args) { return watched(send(name, args, new ToolError())); },
        }[name];
        hidden(globalThis, name, functions[name]);
    }
    const { runTool } = functions;

    // What turns an object to text or JSON, or waits for it, asks for these by itself: they are no
    // tools, so that nothing is called.
    const tools = (path, shown) => new BaseProxy(() => {}, {
        __proto__: null,
        get: (_, key) => {
            if (key === toPrimitive || key === 'toString' || key === 'valueOf') return () => shown;
            if (typeof key === 'symbol' || key === 'then' || key === 'toJSON') return undefined;
            return tools(path === '' ? key : path + '/' + key, shown + '.' + key);
        },
        apply: (_, _this, args) => apply(runTool, undefined, [path, ...args]),
        set: () => false,
        defineProperty: () => false,
    });
    hidden(globalThis, 'tools', tools('', 'tools'));
    hidden(globalThis, 'ToolError', ToolError);
    hidden(globalThis, 'params', params);

    // An integer that no number of the language holds is written with its digits, as a text.
    const { toString: digits, valueOf: integer } = BigInt.prototype;
    hidden(BigInt.prototype, 'toJSON', {
        toJSON() { return apply(typeof this === 'bigint' ? digits : integer, this, []); },
    }.toJSON);

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

    // The clocks stand still while the snippet computes and are set by each answer, so that a
    // snippet that waited for a person finds the same when it is run again from its start.
    const clock = { now: start };
    const { construct } = Reflect;
    const BaseDate = Date;
    const dateText = BaseDate.prototype.toString;
    const { prototype: datePrototype } = BaseDate;
    function OwnDate(...args) {
        if (new.target === undefined) {
            return apply(dateText, new BaseDate(clock.now), []);
        }
        return construct(BaseDate, args.length === 0 ? [clock.now] : args, new.target);
    }
    define(OwnDate, 'name', { value: 'Date', configurable: true });
    define(OwnDate, 'length', { value: 7, configurable: true });
    define(OwnDate, 'prototype', { value: datePrototype, writable: false });
    hidden(datePrototype, 'constructor', OwnDate);
    hidden(OwnDate, 'now', { now: () => clock.now }.now);
    hidden(OwnDate, 'parse', BaseDate.parse);
    hidden(OwnDate, 'UTC', BaseDate.UTC);
    hidden(globalThis, 'Date', OwnDate);
    hidden(globalThis, 'performance', { now: () => clock.now - start, timeOrigin: start });

    // sfc32 by Chris Doty-Humphrey (PractRand).
    let [a, b, c, d] = seed;
    const random32 = () => {
        const t = (a + b + d) | 0;
        d = (d + 1) | 0;
        a = b ^ (b >>> 9);
        b = (c + (c << 3)) | 0;
        c = (c << 21) | (c >>> 11);
        c = (c + t) | 0;
        return t >>> 0;
    };
    for (let round = 0; round < 12; round++) random32();
    const random = () => (random32() * 0x200000 + (random32() >>> 11)) / 0x20000000000000;
    hidden(Math, 'random', { random }.random);

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
    return {
        kind, unbox, bigint: BigInt, isAssigned: () => result.isAssigned,
        dropped: () => dropped.calls,
        tick: (now) => { clock.now = now; },
    };
})
