import type { Entry } from "yauzl";

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
