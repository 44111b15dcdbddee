import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "The log counts as flushed when the flush begins",
  file: "lib/platform/db/embedded/wal-flush.ts",
  search: `      await flush(fd);
      this.#flushedUpTo = Math.max(this.#flushedUpTo, upTo);`,
  replace: `      this.#flushedUpTo = Math.max(this.#flushedUpTo, upTo);
      void flush(fd);`,
};
