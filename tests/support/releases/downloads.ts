import { utimes } from "node:fs/promises";
import path from "node:path";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { type TestCatalog, withCatalog } from "@/tests/support/releases/releases";

export const WINDOWS = "/api/download/windows";
export const BYTES = Buffer.from("0123456789");
/** The time of the last change of the installer in `withFile`. */
export const MODIFIED = new Date("2026-11-01T10:00:00.500Z");

/** Runs `run` with a release whose installer holds `bytes`. */
export function withFile(
  bytes: Buffer,
  run: (testCatalog: TestCatalog & { file: string; etag: string }) => Promise<void>,
  change?: EntryFields,
) {
  return withCatalog(async (testCatalog) => {
    const installer = await testCatalog.addFile("setup.exe", bytes, change);
    const file = path.join(testCatalog.folder, "setup.exe");
    await utimes(file, MODIFIED, MODIFIED);
    await testCatalog.publish(manifestEntry({ artifacts: { installer } }));
    await run({ ...testCatalog, file, etag: `"sha256-${installer.sha256}"` });
  });
}

export const statusAndCode = async (response: Response) => {
  const { code } = (await response.json()) as { code: string };
  return [response.status, code];
};
