import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";
import { makeFolder, writeDurably } from "../files/durable";
import type { PushTransport } from "./push-transport";

/** Writes each notification to a file, for development without APNs. */
export function createFilePushTransport(folder: string, log: Logger): PushTransport {
  return {
    mode: "files",
    send: async ({ body, ...notification }) => {
      const text = `${JSON.stringify({ ...notification, payload: JSON.parse(body) }, null, 2)}\n`;
      const file = await writePrivate(folder, `${notification.id}.push.json`, text);
      log.info({ file, id: notification.id }, "notification written to a file");
      return { status: 200, reason: null };
    },
    close: () => {},
  };
}

/**
 * Deletes the emails and notifications in a folder that are older than a time, since they contain links and tokens, and
 * partly written ones. Other files stay. Returns the number of deleted files; 0 if the folder does not exist.
 */
export async function removeOldFiles(folder: string, before: Date): Promise<number> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  let removed = 0;
  for (const name of names.filter((each) => /\.(eml|push\.json)(\.tmp)?$/.test(each))) {
    const file = path.join(folder, name);
    const { mtime } = await stat(file);
    if (mtime >= before) continue;
    await rm(file, { force: true });
    removed += 1;
  }
  return removed;
}

/** Writes a file that only the owner can read. Returns its path. */
export async function writePrivate(folder: string, name: string, content: string | Buffer): Promise<string> {
  await makeFolder(folder, 0o700);
  const file = path.join(folder, `${Date.now()}-${name}`);
  await writeDurably(file, content, { mode: 0o600 });
  return file;
}
