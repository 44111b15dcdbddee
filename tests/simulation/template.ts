import { openEmbedded } from "@/lib/platform/db/embedded/open";

/** Migrates the database that each seed copies. `sql` changes it on purpose. */
export async function createTemplate(folder: string, sql?: string): Promise<void> {
  const { migrate, copySession, close } = await openEmbedded(folder, true, { isMigrated: true });
  await migrate();
  if (sql) await copySession.exec(sql);
  await close();
}
