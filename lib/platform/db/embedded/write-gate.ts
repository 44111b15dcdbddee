export type WriteGate = {
  /** Sets whether the disk is too full for writes. Writes then fail. */
  setFull: (isFull: boolean) => void;
  /**
   * Makes writes wait. Resolves when no transaction is open, with a function that lets them continue. Pauses follow each
   * other.
   */
  pause: () => Promise<() => void>;
  /** Resolves at the end of the current pause; null if there is none. */
  current: () => Promise<void> | null;
  /** Sets whether the data has moved to another database. Writes then fail. */
  setClosed: (isClosed: boolean) => Promise<unknown>;
  isClosed: () => boolean;
};

/**
 * Rejects writes by `default_transaction_read_only`, so that reads continue. `exec` runs SQL after the statements and
 * transactions that were sent before.
 */
export function createWriteGate(exec: (sql: string) => Promise<unknown>): WriteGate {
  let isFull = false;
  let isClosed = false;
  let paused: Promise<void> | null = null;
  const apply = () => exec(`SET default_transaction_read_only = ${isFull || isClosed || paused ? "on" : "off"}`);
  return {
    setFull: (value) => {
      isFull = value;
      void apply();
    },
    pause: async () => {
      while (paused) await paused;
      let end = () => {};
      const own = new Promise<void>((resolve) => {
        end = resolve;
      });
      paused = own;
      await apply();
      return () => {
        if (paused !== own) return; // called before
        paused = null;
        void apply(); // before the statements that wait
        end();
      };
    },
    current: () => paused,
    setClosed: async (value) => {
      isClosed = value;
      await apply();
    },
    isClosed: () => isClosed,
  };
}
