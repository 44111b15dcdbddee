import { mkdir, mkdtemp, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { lockFile } from "@/lib/platform/files/lock";

const newFile = async () => path.join(await mkdtemp(path.join(tmpdir(), "homeport-lock-")), "db.lock");

test("a lock has one holder at a time, and the error for others names the file and the holder's pid", async () => {
  const file = await newFile();
  const unlock = await lockFile(file);
  await expect(lockFile(file)).rejects.toMatchObject({ name: "FileLockedError", file, pid: String(process.pid) });
  await unlock();
  await (await lockFile(file))();
});

test("all that wait for a lock hold it one after another, and leave no file", async () => {
  const file = await newFile();
  let holders = 0;
  const hold = async () => {
    const unlock = await lockFile(file, 60_000);
    holders += 1;
    const seen = holders;
    await readdir(path.dirname(file));
    holders -= 1;
    await unlock();
    return seen;
  };
  expect(await Promise.all(Array.from({ length: 8 }, hold))).toEqual(Array(8).fill(1));
  expect(await readdir(path.dirname(file))).toEqual([]);
});

test("a file left by an ended process does not hold the lock, whatever its date and content", async () => {
  const file = await newFile();
  await writeFile(file, "4711\n");
  const future = new Date("2100-01-01");
  await utimes(file, future, future);
  await (await lockFile(file))();
});

test("the lock folder of an earlier version does not hold the lock", async () => {
  const file = await newFile();
  await mkdir(file);
  await (await lockFile(file))();
});
