import { mkdir, mkdtemp, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { lockFile } from "@/lib/files/lock";

const newFile = async () => path.join(await mkdtemp(path.join(tmpdir(), "homeport-lock-")), "db.lock");

test("a lock has one holder at a time, and whoever is refused is told the file and the holder's pid", async () => {
  const file = await newFile();
  const unlock = await lockFile(file);
  await expect(lockFile(file)).rejects.toMatchObject({ name: "FileLockedError", file, pid: String(process.pid) });
  await unlock();
  await (await lockFile(file))();
});

test("a file that was left behind locks nobody out, whatever its date and content", async () => {
  const file = await newFile();
  await writeFile(file, "4711\n");
  const future = new Date("2100-01-01");
  await utimes(file, future, future);
  await (await lockFile(file))();
});

test("nor does the folder by which an earlier version locked", async () => {
  const file = await newFile();
  await mkdir(file);
  await (await lockFile(file))();
});
