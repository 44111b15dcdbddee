import { randomUUID } from "node:crypto";
import { indexReleases, type Snapshot } from "@/lib/releases/catalog/snapshot";
import { Release } from "@/lib/releases/schema";

export type EntryFields = Record<string, unknown>;

/** A release as a manifest has it, with an installer that lies elsewhere. */
export function manifestEntry(change: EntryFields = {}): EntryFields {
  return {
    id: randomUUID(),
    platform: "windows",
    product: "core",
    architecture: "x64",
    version: "1.0.0",
    releasedAt: "2026-11-01T09:00:00Z",
    artifacts: { installer: remoteArtifact() },
    ...change,
  };
}

/** An artifact at another URL. */
export function remoteArtifact(change: EntryFields = {}): EntryFields {
  const sha512 = Buffer.alloc(64, 1).toString("base64");
  const url = "https://cdn.example.com/setup.exe";
  return { url, fileName: "setup.exe", sizeBytes: 10, sha256: "ab".repeat(32), sha512, ...change };
}

/** A snapshot of these releases, without a manifest. */
export function snapshotOf(...changes: EntryFields[]): Snapshot {
  return indexReleases(
    "/nowhere",
    changes.map((change) => Release.parse(manifestEntry(change))),
  );
}
