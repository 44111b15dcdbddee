// biome-ignore-all lint/suspicious/noExplicitAny: functions of Node of every kind are replaced

import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createRandom, type Random } from "./random";

/**
 * The machine of a simulated service: its clocks, timers and random numbers come from the seed, and what Node does on its
 * threads is counted, so that the simulation knows when all code waits. It replaces the functions of this thread, and has
 * to be installed before the service's modules are loaded.
 */
const EPOCH_MS = Date.UTC(2027, 0, 4, 8);

type Timer = { id: number; atMs: number; everyMs: number | null; isAlive: () => boolean; run: () => void };

const require = createRequire(import.meta.url);
const real = {
  setTimeout: globalThis.setTimeout,
  setImmediate: globalThis.setImmediate,
  Date: globalThis.Date,
  performanceNow: performance.now.bind(performance),
};

const state = {
  /** Milliseconds since the start: a monotonic clock. */
  elapsedMs: 0,
  /** How much the clock is off. */
  stepMs: 0,
  random: createRandom(0),
  timers: new Map<number, Timer>(),
  nextTimer: 1,
  immediates: 0,
  inFlight: 0,
  /** What was begun on Node's threads and has not ended for the service yet, in the order of its beginning. */
  jobs: [] as { result: Promise<unknown>; end: () => void }[],
  activity: 0,
  modules: new Map<number, WebAssembly.Module>(),
};

export const machine = {
  /** The process whose code runs now. */
  process: (): { isAlive: boolean; clockOffMs: number } | undefined => undefined,
  /** Waits a little on the real clock: for a database server, which has its own. */
  linger: () => new Promise<void>((resolve) => real.setTimeout(resolve, 2)),
  realNowMs: () => real.performanceNow(),
  nowMs: () => EPOCH_MS + Math.floor(state.elapsedMs) + state.stepMs + (machine.process()?.clockOffMs ?? 0),
  elapsedMs: () => state.elapsedMs,
  /** Sets the clock forth or back, without time passing: how much it is off. */
  setClock: (offMs: number) => {
    state.stepMs = Math.round(offMs);
  },
  /** The machine of a seed, at its start. */
  begin: (seed: number) => {
    Object.assign(state, { elapsedMs: 0, stepMs: 0, nextTimer: 1, random: createRandom(seed, 0x5eed) });
  },
  /** Where the code that runs now takes random numbers from: of two requests at once, each has its own. */
  random: (): Random => state.random,
  activity: () => {
    state.activity += 1;
  },
  /** Timers of live processes that run again and again. The others end by themselves. */
  intervalCount: () =>
    [...state.timers.values()].filter(({ everyMs, isAlive }) => everyMs !== null && isAlive()).length,
  /** When the next timer is due, in milliseconds from now. */
  nextTimerMs: () => {
    let next = Number.POSITIVE_INFINITY;
    for (const { atMs } of state.timers.values()) next = Math.min(next, atMs);
    return next - state.elapsedMs;
  },
  /** Lets time pass at once: each timer that is due by then runs once, as on a machine that was asleep. */
  pass: (ms: number) => {
    state.elapsedMs += ms;
    const due = [...state.timers.values()].filter(({ atMs }) => atMs <= state.elapsedMs);
    for (const timer of due.sort((a, b) => a.atMs - b.atMs || a.id - b.id)) {
      if (!state.timers.has(timer.id)) continue; // one before has cleared it
      if (timer.everyMs === null) state.timers.delete(timer.id);
      else timer.atMs = state.elapsedMs + timer.everyMs;
      timer.run();
    }
  },
  /** Forgets all timers, as when the process ends. */
  clearTimers: () => state.timers.clear(),
  /**
   * Resolves when all code of the service waits: for a port of the simulation, a timer, or the next request. What Node does
   * on its threads ends when all else waits, one after the other: at the same moment in each run, however long it takes.
   */
  quiet: async () => {
    for (;;) {
      for (let calm = 0; calm < 2; ) {
        const before = state.activity;
        await new Promise<void>((resolve) => real.setImmediate(resolve));
        const isCalm =
          state.immediates === 0 && state.inFlight === 0 && state.activity === before && !hasActiveRequests();
        calm = isCalm ? calm + 1 : 0;
      }
      const job = state.jobs.shift();
      if (!job) return;
      await job.result.catch(() => {});
      job.end();
    }
  },
  /** Removes from memory what nothing refers to. */
  collectGarbage: async () => {
    setFlagsFromString("--expose-gc");
    await new Promise<void>((resolve) => real.setImmediate(resolve)); // what a WeakRef has returned stays until then
    runInNewContext("gc")();
  },
  install: (modules: ReadonlyMap<number, WebAssembly.Module>) => {
    state.modules = new Map(modules);
    installClock();
    installTimers();
    installRandom();
    installSync();
    installCounters();
    installModules();
    syncBuiltinESMExports();
  },
};

/** Whether Node reads or writes a file on its threads: also for those who had its functions before they were replaced. */
const hasActiveRequests = () => process.getActiveResourcesInfo().some((name) => /Req/.test(name));

function installClock() {
  class VirtualDate extends real.Date {
    constructor(...given: any[]) {
      if (given.length === 0) super(machine.nowMs());
      else super(...(given as [any]));
    }
    static override now() {
      return machine.nowMs();
    }
  }
  globalThis.Date = VirtualDate as DateConstructor;
  performance.now = () => state.elapsedMs;
}

function addTimer(run: () => void, ms: number | undefined, isRepeated: boolean) {
  const delayMs = Math.max(1, Number(ms) || 1);
  const id = state.nextTimer++;
  const inContext = AsyncLocalStorage.snapshot();
  const isAlive = () => inContext(() => machine.process()?.isAlive !== false);
  state.timers.set(id, {
    id,
    atMs: state.elapsedMs + delayMs,
    everyMs: isRepeated ? delayMs : null,
    isAlive,
    run: () => isAlive() && inContext(run),
  });
  const handle = {
    ref: () => handle,
    unref: () => handle,
    hasRef: () => true,
    refresh: () => {
      const timer = state.timers.get(id);
      if (timer) timer.atMs = state.elapsedMs + delayMs;
      return handle;
    },
    close: () => void state.timers.delete(id),
    [Symbol.toPrimitive]: () => id,
    [Symbol.dispose ?? Symbol("dispose")]: () => void state.timers.delete(id),
  };
  return handle;
}

function installTimers() {
  const clear = (handle: any) => void (handle !== undefined && handle !== null && state.timers.delete(Number(handle)));
  const timers = require("node:timers");
  const promises = require("node:timers/promises");
  for (const owner of [globalThis, timers] as any[]) {
    owner.setTimeout = (run: any, ms?: number, ...args: any[]) => addTimer(() => run(...args), ms, false);
    owner.setInterval = (run: any, ms?: number, ...args: any[]) => addTimer(() => run(...args), ms, true);
    owner.clearTimeout = clear;
    owner.clearInterval = clear;
    owner.setImmediate = (run: any, ...args: any[]) => {
      state.immediates += 1;
      let isDone = false;
      const finish = () => {
        if (!isDone) state.immediates -= 1;
        isDone = true;
      };
      const handle: any = real.setImmediate(() => {
        finish();
        run(...args);
      });
      handle.finish = finish;
      return handle;
    };
    const clearImmediate = owner.clearImmediate;
    owner.clearImmediate = (handle: any) => {
      handle?.finish?.();
      clearImmediate(handle);
    };
  }
  const delay = (ms?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new DOMException("The operation was aborted", "AbortError"));
      const timer = addTimer(() => resolve(value), ms, false);
      signal?.addEventListener("abort", () => {
        timer.close();
        reject(new DOMException("The operation was aborted", "AbortError"));
      });
    });
  promises.setTimeout = delay;
  promises.setImmediate = (value?: unknown) => new Promise((resolve) => globalThis.setImmediate(() => resolve(value)));
  AbortSignal.timeout = (ms: number) => {
    const controller = new AbortController();
    addTimer(() => controller.abort(new DOMException("The operation timed out", "TimeoutError")), ms, false);
    return controller.signal;
  };
}

function installRandom() {
  const crypto = require("node:crypto");
  const fill = <T extends ArrayBufferView>(view: T): T => {
    machine.random().bytes(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return view;
  };
  const bytes = (size: number) => fill(Buffer.alloc(size));
  const uuid = () => {
    const raw = bytes(16);
    raw[6] = ((raw[6] as number) & 0x0f) | 0x40;
    raw[8] = ((raw[8] as number) & 0x3f) | 0x80;
    return raw.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
  Math.random = () => machine.random().float();
  crypto.randomBytes = (size: number, done?: (error: null, value: Buffer) => void) =>
    done ? done(null, bytes(size)) : bytes(size);
  crypto.randomFillSync = (view: Uint8Array, offset = 0, size?: number) => {
    fill(view.subarray(offset, size === undefined ? undefined : offset + size));
    return view;
  };
  crypto.randomInt = (min: number, max?: number) =>
    max === undefined ? machine.random().below(min) : min + machine.random().below(max - min);
  crypto.randomUUID = uuid;
  for (const web of new Set([globalThis.crypto, crypto.webcrypto])) {
    Object.defineProperty(web, "getRandomValues", { value: fill, configurable: true });
    Object.defineProperty(web, "randomUUID", { value: uuid, configurable: true });
  }
}

/** What Node would do on its threads is done at once. */
function installSync() {
  const install = (owner: any, names: string[]) => {
    for (const name of names) {
      const run = owner[name];
      owner[name] = (...args: any[]) => {
        const done = args.at(-1);
        if (typeof done !== "function") return run(...args);
        const results: any[] = [null];
        try {
          results.push((owner[`${name}Sync`] ?? run)(...args.slice(0, -1)));
        } catch (error) {
          results[0] = error;
        }
        queueMicrotask(() => done(...results));
      };
    }
  };
  install(require("node:crypto"), ["hkdf", "scrypt", "pbkdf2", "sign", "verify", "generateKey"]);
  const both = [
    "gzip",
    "gunzip",
    "deflate",
    "inflate",
    "deflateRaw",
    "inflateRaw",
    "brotliCompress",
    "brotliDecompress",
  ];
  const zlib = require("node:zlib");
  install(zlib, both);
  const { Transform } = require("node:stream");
  for (const name of ["Gzip", "Gunzip"]) {
    const run = zlib[`${name.toLowerCase()}Sync`];
    const create = (options: any) => {
      const chunks: Buffer[] = [];
      return new Transform({
        transform: (chunk: Buffer, _: unknown, done: () => void) => {
          chunks.push(chunk);
          done();
        },
        flush: (done: (error: unknown, bytes?: Buffer) => void) => {
          try {
            done(null, run(Buffer.concat(chunks), options));
          } catch (error) {
            done(error);
          }
        },
      });
    };
    Object.defineProperty(zlib, `create${name}`, { value: create });
  }
}

/** Counts what Node does on its threads: its order would differ from run to run, so nothing else runs meanwhile. */
function installCounters() {
  const counted = (run: any) =>
    function (this: unknown, ...args: any[]) {
      const result = run.apply(this, args);
      if (typeof result?.then !== "function") return result;
      state.inFlight += 1;
      const done = () => {
        state.inFlight -= 1;
      };
      result.then(done, done);
      return result;
    };
  const ordered = (run: any) =>
    function (this: unknown, ...args: any[]) {
      const result: Promise<unknown> = run.apply(this, args);
      result.catch(() => {}); // whoever waits for it gets it below
      return new Promise((resolve) => {
        state.jobs.push({ result, end: () => resolve(result) });
      });
    };
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle);
  for (const name of Object.getOwnPropertyNames(subtle)) {
    const method = Object.getOwnPropertyDescriptor(subtle, name)?.value;
    if (name !== "constructor" && typeof method === "function")
      Object.defineProperty(subtle, name, { value: ordered(method) });
  }
  Object.assign(globalThis, {
    /** Takes as long if the module is there already: the order of what waits is the same. */
    countedImport: counted((load: () => Promise<unknown>) =>
      load().then((module) => new Promise((resolve) => real.setImmediate(() => resolve(module)))),
    ),
  });
  WebAssembly.instantiate = counted(WebAssembly.instantiate);
}

/** A module that the first thread has compiled is not compiled again. */
function installModules() {
  const compile = WebAssembly.compile;
  const known = (code: BufferSource) => state.modules.get(code.byteLength);
  WebAssembly.compile = async (code: any) => known(code) ?? compile(code);
  WebAssembly.Module = new Proxy(WebAssembly.Module, {
    construct: (Module, [code]) => known(code) ?? new Module(code),
  });
}
