import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { requirement } from "@/tests/support/requirements";

const run = promisify(execFile);

/** Whether a file system can be mounted here. That takes root, loop devices and the tools. */
export const canMount = requirement("A loop device to mount as root", process.getuid?.() === 0 && mountsLoop());

function mountsLoop(): boolean {
  const script = `set -e; cd "$(mktemp -d)"; truncate -s 8M image; mkfs.ext4 -q -F image; mkdir mounted
    mount -o loop image mounted; umount mounted; command -v python3 fallocate`;
  return spawnSync("sh", ["-c", script], { stdio: "ignore" }).status === 0;
}

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH (Linux, fs/ext4/ext4.h): as xfstests simulate a power cut. */
const SHUTDOWN = "import fcntl,os,struct,sys;fcntl.ioctl(os.open(sys.argv[1],0),0x8004587d,struct.pack('I',2))";

export type Disk = {
  folder: string;
  /** Writes to the disk what is not on it yet. */
  flush: () => Promise<void>;
  /** From now on nothing reaches the disk, and what was not flushed is lost. */
  cutPower: () => Promise<void>;
  /** Takes the disk out and puts it in again, as a restart of the machine would. */
  remount: () => Promise<void>;
  /** Leaves so many bytes of free space. */
  leaveFree: (bytes: number) => Promise<void>;
  /** Leaves no byte of free space. */
  fill: () => Promise<void>;
  /** Gives back what `leaveFree` and `fill` took. */
  freeAll: () => Promise<void>;
};

const fail = () => Promise.reject(new Error("The disk is not full"));

async function requireFull({ stderr }: { stderr?: string }): Promise<void> {
  if (!stderr?.includes("No space left")) throw new Error(stderr);
}

/** An ext4 file system of its own for one test, in a file. */
export async function newDisk(megabytes: number): Promise<Disk> {
  const place = await mkdtemp(path.join(tmpdir(), "homeport-disk-"));
  const [image, folder] = [path.join(place, "image"), path.join(place, "mounted")];
  await writeFile(image, "");
  await truncate(image, megabytes * 2 ** 20);
  await run("mkfs.ext4", ["-q", "-m", "0", "-F", image]);
  await mkdir(folder);
  const mount = () => run("mount", ["-o", "loop", image, folder]);
  const unmount = () => run("umount", [folder]);
  await mount();
  onTestFinished(async () => {
    await run("umount", ["--lazy", folder]);
    await rm(place, { recursive: true, force: true });
  });
  const filler = path.join(folder, "filler");
  return {
    folder,
    flush: async () => void (await run("sync", ["--file-system", folder])),
    cutPower: async () => void (await run("python3", ["-c", SHUTDOWN, folder])),
    remount: async () => {
      await unmount();
      await mount();
    },
    leaveFree: async (bytes) => {
      const { stdout } = await run("df", ["--output=avail", "--block-size=1", folder]);
      await run("fallocate", ["--length", String(Number(stdout.split("\n")[1]) - bytes), filler]);
    },
    fill: () => run("dd", ["if=/dev/zero", `of=${filler}`, "bs=1024"]).then(fail, requireFull),
    freeAll: () => rm(filler),
  };
}
