import { loadConfig } from "@/lib/platform/config";
import type { PrismaClient } from "@/lib/platform/db/generated/client";
import { openDatabase } from "@/lib/platform/db/open";
import { BASE_URL, SECRET } from "@/tests/support/context";

/** Runs `run` on the database of a service that does not run, whose variables are `env`. */
export async function withStoppedDatabase<T>(
  env: Record<string, string>,
  run: (db: PrismaClient) => Promise<T>,
): Promise<T> {
  const config = loadConfig({ NEXTAUTH_URL: BASE_URL, NEXTAUTH_SECRET: SECRET, ...env });
  const rethrow = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError: rethrow });
  return await run(database.client).finally(database.close);
}
