import { openEmbedded } from "@/lib/platform/db/embedded/open";

/** Migrates the database that each seed copies. */
export async function createTemplate(folder: string): Promise<void> {
  const { migrate, close } = await openEmbedded(folder, true, { isMigrated: true });
  await migrate();
  await close();
}
