import { buffer } from "node:stream/consumers";
import type { Entry } from "yauzl";

/**
 * Reads one file of a ZIP file without reading the others: the first whose name `isWanted`. Returns null if there is none.
 * @throws Error if the ZIP file is damaged, or the file in it has more than `maxBytes`
 */
export async function readZipEntry(file: string, isWanted: (name: string) => boolean, maxBytes: number) {
  for await (const { fileName, uncompressedSize, open } of openEntries(file, isWanted)) {
    if (uncompressedSize > maxBytes) throw new Error(`${fileName} is too large`);
    return await buffer(await open()); // fails if it is larger than it says
  }
  return null;
}

/**
 * Yields the files of a ZIP file whose names are wanted, with at most the first `headBytes` of each.
 * @throws Error if the ZIP file is damaged
 */
export async function* readZipHeads(file: string, isWanted: (name: string) => boolean, headBytes: number) {
  for await (const { fileName: name, open } of openEntries(file, isWanted)) {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of (await open()) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= headBytes) break;
    }
    yield { name, head: Buffer.concat(chunks).subarray(0, headBytes) };
  }
}

async function* openEntries(file: string, isWanted: (name: string) => boolean) {
  const { default: yauzl } = await import("yauzl"); // loaded with the first ZIP file
  const zip = await yauzl.openPromise(file, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry() as AsyncIterable<Entry>) {
      const { fileName, uncompressedSize } = entry;
      if (isWanted(fileName)) yield { fileName, uncompressedSize, open: () => zip.openReadStreamPromise(entry) };
    }
  } finally {
    zip.close();
  }
}
