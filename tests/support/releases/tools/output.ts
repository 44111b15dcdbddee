import { createHash, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { draftFolder, type FolderOptions } from "@/lib/releases/publishing/folder/draft-folder";
import { newFolder } from "@/tests/support/releases/publishing";
import { nupkg, type PackageFields } from "./nupkg";

/** A folder that a tool's output is written to. */
export type ToolOutput = {
  folder: string;
  /** Writes a file, by default with random bytes. Returns them. */
  write: (name: string, bytes?: Buffer | string) => Promise<Buffer>;
};

export function toolOutput(folder: string): ToolOutput {
  const write: ToolOutput["write"] = async (name, content = randomBytes(500)) => {
    const bytes = Buffer.from(content);
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), bytes);
    return bytes;
  };
  return { folder, write };
}

/** A folder for a tool's output beside a catalog that does not exist yet, and the drafts of it. */
export async function newOutput(name = "dist") {
  const testFolder = await newFolder();
  const output = toolOutput(path.join(testFolder.folder, name));
  const drafts = (change: Partial<FolderOptions> = {}) =>
    draftFolder(output.folder, { product: "core", hints: {}, fields: {}, ...change });
  return { ...testFolder, ...output, drafts };
}

/** Writes files and their update file, as electron-builder does for electron-updater. */
export async function writeElectronUpdate(
  { write }: ToolOutput,
  updateFile: string,
  version: string,
  names: readonly string[],
  more: object = {},
  contents: Readonly<Record<string, Buffer>> = {},
): Promise<void> {
  const files = [];
  for (const url of names) {
    const bytes = await write(url, contents[url]);
    files.push({ url, sha512: createHash("sha512").update(bytes).digest("base64"), size: bytes.length });
  }
  const [first] = files;
  const info = { version, files, path: first?.url, sha512: first?.sha512, releaseDate: "2026-11-20T12:00:00.000Z" };
  await write(updateFile, stringify({ ...info, ...more }));
}

/** Writes packages with their feed, as `vpk pack` does. */
export async function writeVelopack(
  { write }: ToolOutput,
  channel: string,
  packages: readonly { name: string; fields: PackageFields; type: "Full" | "Delta" }[],
): Promise<void> {
  const Assets = [];
  for (const { name, fields, type } of packages) {
    const bytes = await write(name, nupkg(fields, randomBytes(500)));
    const hash = (algorithm: string) => createHash(algorithm).update(bytes).digest("hex").toUpperCase();
    const own = { PackageId: fields.id, Version: fields.version, Type: type, FileName: name };
    Assets.push({ ...own, SHA1: hash("sha1"), SHA256: hash("sha256"), Size: bytes.length, NotesMarkdown: "Faster" });
  }
  await write(`releases.${channel}.json`, JSON.stringify({ Assets }));
}
