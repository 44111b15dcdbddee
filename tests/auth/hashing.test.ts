import { execFile } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { createHasher, type HasherPoolOptions, hasherPoolSize } from "@/lib/auth/passwords/hasher";
import type { Hasher } from "@/lib/context";

/** The lowest cost, for tests that do not depend on the time of a hash. */
const CHEAP = 4;
/** A hash of the right length with an invalid cost: bcrypt throws, which ends the thread. */
const UNREADABLE = `$2b$99$${"x".repeat(53)}`;

const open: Hasher[] = [];
function pool(size: HasherPoolOptions): Hasher {
  const hasher = createHasher(size);
  open.push(hasher);
  return hasher;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(({ close }) => close()));
});

// ASVS 15.4.4
test("hashing a password does not block the event loop", async () => {
  const hasher = pool({ threads: 1, maxQueued: 0 });
  await hasher.hash("the thread has started", CHEAP);
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await hasher.hash("correct horse", 10);
  isDone = true;
  expect(turns).toBeGreaterThan(10);
});

// ASVS 15.2.2
test("a full queue refuses jobs as overloaded, and the waiting jobs are finished", async () => {
  const hasher = pool({ threads: 2, maxQueued: 3 });
  const hashes = await Promise.allSettled(Array.from("abcdefgh", (password) => hasher.hash(password, CHEAP)));
  expect(hashes.map(({ status }) => status)).toEqual([
    ...Array.from("abcde", () => "fulfilled"),
    ...Array.from("fgh", () => "rejected"),
  ]);
  expect(hashes.at(-1)).toMatchObject({ reason: { name: "AppError", code: "overloaded" } });
  expect(await hasher.compare("a", await hasher.hash("a", CHEAP))).toBe(true);
});

test("a job that has waited too long is refused, and its thread continues", async () => {
  const hasher = pool({ threads: 1, maxQueued: 3, maxWaitMs: 0 });
  const [first, ...late] = await Promise.allSettled(Array.from("abc", (password) => hasher.hash(password, CHEAP)));
  expect(first?.status).toBe("fulfilled");
  const overloaded = { status: "rejected", reason: { name: "AppError", code: "overloaded" } };
  expect(late).toMatchObject([overloaded, overloaded]);
  expect(await hasher.hash("d", CHEAP)).toMatch(/^\$2b\$04\$/);
});

test("the queue holds 30 jobs per thread at cost 12, and half as many for each step of cost", () => {
  const { threads } = hasherPoolSize(12);
  expect(threads).toBeGreaterThanOrEqual(1);
  expect(threads).toBeLessThanOrEqual(4);
  expect([10, 11, 12, 13].map((cost) => hasherPoolSize(cost).maxQueued / threads)).toEqual([120, 60, 30, 15]);
});

// ASVS 15.4.1
test("a thread that crashes fails only its own job", async () => {
  const hasher = pool({ threads: 1, maxQueued: 3 });
  const crashed = [hasher.compare("a", UNREADABLE), hasher.compare("a", UNREADABLE)];
  const behind = hasher.hash("a", CHEAP);
  for (const { status, ...rest } of await Promise.allSettled(crashed)) {
    expect(status).toBe("rejected");
    expect(rest).toMatchObject({ reason: { name: "Error", cause: { message: expect.stringContaining("rounds") } } });
  }
  expect(await hasher.compare("a", await behind)).toBe(true);
});

test("closing rejects running, waiting and later jobs", async () => {
  const hasher = pool({ threads: 1, maxQueued: 3 });
  const jobs = Array.from("abc", (password) => hasher.hash(password, 15));
  const results = Promise.allSettled(jobs);
  await hasher.close();
  const unavailable = { status: "rejected", reason: { name: "AppError", code: "unavailable" } };
  expect(await results).toMatchObject([unavailable, unavailable, unavailable]);
  await expect(hasher.hash("d", CHEAP)).rejects.toMatchObject({ code: "unavailable" });
});

test("a busy pool keeps the process alive, and one that is idle, or closed with unfinished jobs, does not", async () => {
  const output = await runModule(`
    const { hash, compare } = createHasher({ threads: 2, maxQueued: 3 });
    const hashes = await Promise.all(["a", "b", "c"].map((password) => hash(password, ${CHEAP})));
    console.log(await compare("c", hashes[2], ${CHEAP}));
    const { hash: hashLong, close } = createHasher({ threads: 2, maxQueued: 9 });
    const jobs = Array.from("abcdefgh", (password) => hashLong(password, 15));
    const results = Promise.allSettled(jobs);
    await close();
    console.log((await results).map(({ status }) => status).join());
  `);
  expect(output).toBe(`true\n${Array(8).fill("rejected").join()}\n`);
});

/** Runs a module that can use `createHasher` in a new process. Returns its output. */
function runModule(body: string): Promise<string> {
  const source = `import { createHasher } from "./lib/auth/passwords/hasher.ts";${body}`;
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["--import", "tsx", "--input-type=module", "-e", source], (error, stdout, stderr) =>
      error ? reject(new Error(stderr, { cause: error })) : resolve(stdout),
    );
  });
}
