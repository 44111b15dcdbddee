import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { AppError } from "../errors";
import type { Config } from "./config";
import type { BodyPart, DownloadContent } from "./response-content";

/** scripts/build/tools.mjs writes the packages. */
const FOLDER = ".next/install";
/** The command line and the JavaScript client, as the URLs name them. */
const NAMES = ["homeport", "client"] as const;
type ToolName = (typeof NAMES)[number];

/** An npm package that the service hands out. */
type Tool = { name: ToolName; fileName: string; sizeBytes: number; sha256: string; modifiedAt: Date };

let tools: Promise<readonly Tool[]> | null = null;

/** The packages that were built with the service; without a build there are none. */
async function readTools(): Promise<readonly Tool[]> {
  const files = await readdir(/*turbopackIgnore: true*/ FOLDER).catch(() => []);
  return Promise.all(
    NAMES.flatMap((name) => {
      const fileName = files.find((file) => file.startsWith(`${name}-`) && file.endsWith(".tgz"));
      return fileName === undefined ? [] : readTool(name, fileName);
    }),
  );
}

async function readTool(name: ToolName, fileName: string): Promise<Tool> {
  const file = path.join(/*turbopackIgnore: true*/ FOLDER, fileName);
  const bytes = await readFile(/*turbopackIgnore: true*/ file);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { name, fileName, sizeBytes: bytes.byteLength, sha256, modifiedAt: statSync(file).mtime };
}

/** The tools with their URLs; null if the service does not hand them out. */
export async function listTools({ INSTALL_PAGE, baseUrl }: Pick<Config, "INSTALL_PAGE" | "baseUrl">) {
  if (INSTALL_PAGE === "off") return null;
  tools ??= readTools().catch((error: unknown) => {
    tools = null; // the next request reads them again
    throw error;
  });
  return (await tools).map((tool) => ({ ...tool, url: `${baseUrl}/install/${tool.fileName}` }));
}

/**
 * What to send for `NAME.tgz`, or for the file with the version in its name, whose content never changes.
 * @throws AppError not_found: of another version, it says the URL of the one that there is, which npm prints (`npm-notice`)
 */
export async function findTool(
  config: Pick<Config, "INSTALL_PAGE" | "baseUrl">,
  file: string,
): Promise<DownloadContent> {
  const listed = (await listTools(config)) ?? [];
  const tool = listed.find(({ name, fileName }) => file === `${name}.tgz` || file === fileName);
  if (!tool) {
    const other = listed.find(({ name }) => file.startsWith(`${name}-`) && file.endsWith(".tgz"));
    if (!other) throw new AppError("not_found");
    const detail = `This service hands out ${other.url}`;
    throw new AppError("not_found", { detail, headers: { "npm-notice": detail } });
  }
  const { fileName, sizeBytes, sha256, modifiedAt } = tool;
  return {
    kind: "file",
    fileName,
    contentType: "application/gzip",
    sizeBytes,
    sha256,
    sha512: null,
    caching: file === fileName ? "immutable" : "shared",
    modifiedAt,
    read: (parts) => readParts(path.join(FOLDER, fileName), parts),
  };
}

async function* readParts(file: string, parts: readonly BodyPart[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* createReadStream(/*turbopackIgnore: true*/ file, { start: part.first, end: part.last });
  }
}
