import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { AwsClient } from "aws4fetch";
import { requirement } from "@/tests/support/requirements";

/** Debian's own Python, for which `python3-swift` is installed. */
const PYTHON = "/usr/bin/python3";
const REGION = "eu-central-1";
const BUCKET = "releases";

export type Storage = {
  /** The service's variables for it. */
  env: Record<string, string>;
  /** Its answer to a signed request for an object, or for the bucket. */
  ask: (method: string, key?: string) => Promise<Response>;
  close: () => Promise<void>;
};

/** Whether OpenStack Swift is there to be started: Debian's package `python3-swift`. */
export const hasObjectStorage = requirement(
  "OpenStack Swift (python3-swift)",
  spawnSync(PYTHON, ["-c", "import swift.common.middleware.s3api"]).status === 0,
);

/** Starts an OpenStack Swift with its S3 API, which checks every signature, and an empty bucket in it. */
export async function startObjectStorage(): Promise<Storage> {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-storage-"));
  const [accessKeyId, secretAccessKey] = ["test:tester", "a-secret-for-tests"];
  const script = path.join(import.meta.dirname, "object-storage.py");
  const child = spawn(PYTHON, [script, folder, accessKeyId, secretAccessKey], { stdio: ["pipe", "pipe", "inherit"] });
  const endpoint = `http://127.0.0.1:${await portOf(child)}`;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region: REGION, service: "s3", retries: 0 });
  const ask = (method: string, key = "") => client.fetch(`${endpoint}/${BUCKET}/${key}`, { method });
  const made = await ask("PUT");
  if (!made.ok) throw new Error(`The storage made no bucket: ${made.status} ${await made.text()}`);
  return {
    env: {
      RELEASE_S3_ENDPOINT: endpoint,
      RELEASE_S3_BUCKET: BUCKET,
      RELEASE_S3_REGION: REGION,
      RELEASE_S3_ACCESS_KEY_ID: accessKeyId,
      RELEASE_S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
    ask,
    close: async () => {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error("The storage has no output");
  const [line] = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => [""])]);
  if (!Number(line)) throw new Error("The storage did not start");
  return Number(line);
}
