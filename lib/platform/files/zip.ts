import { buffer } from "node:stream/consumers";
import type { Entry } from "yauzl";

/**
 * Reads one file of a ZIP file without reading the others: the first whose name `isWanted`. Returns null if there is none.
 * @throws Error if the ZIP file is damaged, or the file in it has more than `maxBytes`
 */
export async function readZipEntry(file: string, isWanted: (name: string) => boolean, maxBytes: number) {
  const { openPromise } = await import("yauzl"); // loaded with the first ZIP file
  const zip = await openPromise(file, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry()) {
      if (!isWanted(entry.fileName)) continue;
      if (entry.uncompressedSize > maxBytes) throw new Error(`${entry.fileName} is too large`);
      return await buffer(await zip.openReadStreamPromise(entry)); // fails if it is larger than it says
    }
    return null;
  } finally {
    zip.close();
  }
}

/**
 * Yields the files of a ZIP file whose names are wanted, with at most the first `headBytes` of each.
 * @throws Error if the ZIP file is damaged
 */
export async function* readZipHeads(file: string, isWanted: (name: string) => boolean, headBytes: number) {
  const { openPromise } = await import("yauzl"); // loaded with the first ZIP file
  const zip = await openPromise(file, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of zip.eachEntry() as AsyncIterable<Entry>) {
      if (!isWanted(entry.fileName)) continue;
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= headBytes) break;
      }
      yield { name: entry.fileName, head: Buffer.concat(chunks).subarray(0, headBytes) };
    }
  } finally {
    zip.close();
  }
}
