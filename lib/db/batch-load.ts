import DataLoader from "dataloader";
import type { Tx } from "./transaction";

/** The most keys in one statement. */
const MAX_KEYS = 100;

/**
 * Turns a read of many keys into a read of one that is batched: the keys that requests ask for in one turn of the event
 * loop are read by one statement, since under load a statement costs more than its rows. `readMany` gets each key once
 * and returns the rows by key. Its error rejects every read of the batch.
 */
export function batchLoad<Row>(
  readMany: (db: Tx, keys: string[]) => Promise<ReadonlyMap<string, Row>>,
): (db: Tx, key: string) => Promise<Row | undefined> {
  const loaders = new WeakMap<Tx, DataLoader<string, Row | undefined>>();
  const open = (db: Tx) => {
    const read = async (keys: readonly string[]) => {
      const found = await readMany(db, [...new Set(keys)]);
      return keys.map((key) => found.get(key));
    };
    // setImmediate runs after the sockets that are ready were read; process.nextTick would run after each of them.
    const batchScheduleFn = (run: () => void) => void setImmediate(run);
    const loader = new DataLoader(read, { cache: false, maxBatchSize: MAX_KEYS, batchScheduleFn });
    loaders.set(db, loader);
    return loader;
  };
  return (db, key) => (loaders.get(db) ?? open(db)).load(key);
}
