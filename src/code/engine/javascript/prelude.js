// What a snippet finds beside the language. It runs before the snippet, so that what it takes from
// the language here is the language's own.
(function (send, print, params, start, seed, classOf) {
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

    // An integer that no number of the language holds is written with its digits, as a text; what
    // crosses the border has the digits alone.
    const { toString: digits, valueOf: integer } = BigInt.prototype;
    const { stringify, rawJSON, isRawJSON } = JSON;
    delete JSON.rawJSON;
    delete JSON.isRawJSON;
    let writing = 0;
    const bare = (bigint) => rawJSON(apply(digits, bigint, []));
    const toJSON = {
        toJSON() {
            if (typeof this !== 'bigint') return apply(integer, this, []);
            return writing > 0 ? bare(this) : apply(digits, this, []);
        },
    }.toJSON;
    // Snippets often assign one that gives a text, as this one does.
    define(BigInt.prototype, 'toJSON', { get: () => toJSON, set() {} });

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
    // Values as JSON, by the language's own writer, which is told here what each of them is.
    // The functions below are taken before the snippet runs, so it changes only its own value.
    const { getPrototypeOf, keys } = Object;
    const { prototype: plain } = Object;
    const { isFinite } = Number;
    const { isWellFormed, toWellFormed, startsWith } = String.prototype;
    const { get: viewLength } =
        Object.getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), 'length');
    const refused = {};
    const kindOf = (value) => { try { return kind(value); } catch { return ''; } };
    // The numbers of a view on bytes.
    const list = (view, most) => {
        const numbers = [];
        let length = 0;
        try { length = apply(viewLength, view, []); } catch { /* a view without numbers */ }
        for (let at = 0; at < length && at <= most; at++) {
            define(numbers, at, { __proto__: null, value: view[at], enumerable: true });
        }
        return numbers;
    };
    // An error says most in properties that are not listed.
    const told = (error) => {
        const copy = { __proto__: null };
        const note = (name) => {
            try { if (typeof error[name] === 'string') copy[name] = error[name]; } catch { /* none */ }
        };
        note('name');
        note('message');
        const listed = keys(error);
        for (let at = 0; at < listed.length; at++) {
            const key = listed[at];
            if (key !== 'name' && key !== 'message' && key !== 'stack') copy[key] = error[key];
        }
        return copy;
    };
    const write = (given, isShown, mostValues, deepest, mostBytes, mib) => {
        // The values around the present one, as they are and as they are written, and their keys.
        const inside = { __proto__: null }, shapes = { __proto__: null }, path = { __proto__: null };
        const out = { __proto__: null, places: { __proto__: null }, count: 0 };
        let depth = 0, values = 0, bytes = 0;
        const note = (was) => {
            const place = { __proto__: null, was, length: depth - 1 };
            for (let at = 0; at < depth - 1; at++) place[at] = path[at + 2];
            out.places[out.count++] = place;
        };
        const end = (why) => { note(''); out.why = why; throw refused; };
        const refuse = (why) => (isShown ? '[' + why + ']' : end(why));
        const count = (more) => {
            bytes += more;
            if (bytes > mostBytes) end('it has more than ' + mib + ' MiB');
        };
        const text = (value) => {
            count(value.length);
            if (apply(isWellFormed, value, [])) return value;
            return isShown
                ? apply(toWellFormed, value, []) : end('a text with one half of a surrogate pair');
        };
        const primitive = (value) => {
            switch (typeof value) {
                case 'undefined': return depth === 1 ? null : undefined;
                case 'string': return text(value);
                case 'bigint': return bare(value);
                case 'symbol': return refuse('a symbol');
                case 'function': return refuse('a function');
                case 'number':
                    if (!isFinite(value) && out.count < 10 && !isShown) {
                        note(value === value ? 'infinite' : 'NaN');
                    }
            }
            return value;
        };
        const step = function (key, value) {
            if (depth === 0) shapes[depth++] = this;
            while (depth > 1 && shapes[depth - 1] !== this) depth--;
            path[depth] = key;
            if (values++ >= mostValues) end('it has more than ' + mostValues + ' values');
            count(key.length);
            if (!isShown && !apply(isWellFormed, key, [])) {
                depth--;
                end('a key with one half of a surrogate pair');
            }
            if (!isShown && apply(startsWith, key, ['$serde_json::private::'])) {
                depth--;
                end('a key that begins with `$serde_json::private::`');
            }
            if (typeof value !== 'object') return primitive(value);
            if (value === null || isRawJSON(value)) return value;
            if (depth > deepest) return refuse('a value that nests deeper than ' + deepest + ' levels');
            for (let at = 1; at < depth; at++) {
                if (inside[at] === value) return refuse('a value that holds itself');
            }
            let shape = value;
            const prototype = getPrototypeOf(value);
            if (!isArray(value) && prototype !== plain && prototype !== null) {
                const of = classOf(value) || kindOf(value);
                if (of === 'promise') return refuse('a promise, which `await` would wait for');
                if (of === 'boxed') return primitive(unbox(value));
                if (of === 'error') shape = told(value);
                else if (of === 'list') shape = list(value, mostValues);
                else if (of !== '' && keys(value).length === 0) {
                    return refuse('an object of the kind ' + of + ', which has no form in JSON');
                }
            }
            inside[depth] = value;
            shapes[depth++] = shape;
            return shape;
        };
        writing++;
        try {
            out.text = stringify(given, step);
        } catch (error) {
            if (error !== refused) throw error;
        } finally {
            writing--;
        }
        return out;
    };
    return {
        write, bigint: BigInt, isAssigned: () => result.isAssigned,
        dropped: () => dropped.calls,
        tick: (now) => { clock.now = now; },
    };
})
