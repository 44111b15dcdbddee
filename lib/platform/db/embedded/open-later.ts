import { DriverAdapterError, type SqlMigrationAwareDriverAdapterFactory } from "@prisma/driver-adapter-utils";
import { type Database, databaseOf } from "../open";
import { EmbeddedUnavailableError, STORAGE_FULL } from "./failures";

type Opening = {
  open: () => Promise<Database>;
  hasSpace: () => boolean;
  onOpen: () => void;
  onFailure: (error: unknown) => void;
};

/**
 * The database of a folder that cannot be opened. Its queries fail as unavailable, until the disk that was full has space
 * again: then the next one opens the database. One that is damaged is not opened again.
 */
export function openLater(failure: EmbeddedUnavailableError, { open, hasSpace, onOpen, onFailure }: Opening): Database {
  let isFull = failure.isStorageFull;
  let opened: Database | undefined;
  let opening: Promise<unknown> | undefined;
  const tryToOpen = async () => {
    try {
      opened = await open();
      onOpen();
    } catch (error) {
      isFull = error instanceof EmbeddedUnavailableError && error.isStorageFull;
      if (!isFull) onFailure(error);
    } finally {
      opening = undefined;
    }
  };
  const current = async (): Promise<Database> => {
    if (!opened && isFull && hasSpace()) {
      opening ??= tryToOpen();
      await opening;
    }
    if (opened) return opened;
    throw isFull ? STORAGE_FULL : new DriverAdapterError({ kind: "DatabaseNotReachable" });
  };
  const adapter: SqlMigrationAwareDriverAdapterFactory = {
    provider: "postgres",
    adapterName: "embedded, not open",
    connect: async () => (await current()).adapter.connect(),
    connectToShadowDb: async () => (await current()).adapter.connectToShadowDb(),
  };
  const database = databaseOf(
    adapter,
    {
      openSnapshot: async () => (await current()).openSnapshot(),
      isPaused: () => opened?.embedded?.isPaused() ?? false,
      close: async () => opened?.close(),
    },
    false,
  );
  return {
    ...database,
    get embedded() {
      return opened?.embedded ?? null;
    },
  };
}
