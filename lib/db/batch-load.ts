import DataLoader from "dataloader";
import type { Tx } from "../context";

/** The most keys that one statement gets. */
const MAX_KEYS = 100;

/**
 * Makes a read by one key of a read by many. What is asked for in the same turn of the event loop, by whichever
 * requests, is read in one statement: under load a statement costs more than the rows it brings. `readMany` gets each
 * key once, and answers what it found by key. Where it fails, it has failed for all who asked.
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
    // After every socket that has something to say was heard; the next tick comes after each of them.
    const batchScheduleFn = (run: () => void) => void setImmediate(run);
    const loader = new DataLoader(read, { cache: false, maxBatchSize: MAX_KEYS, batchScheduleFn });
    loaders.set(db, loader);
    return loader;
  };
  return (db, key) => (loaders.get(db) ?? open(db)).load(key);
}
