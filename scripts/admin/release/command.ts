import type { Output } from "./output";
import type { ReleaseStore } from "./store/release-store";

/** Opens the store and the output that a command's arguments select. @throws UsageError, PublishingError */
export type Open = (values: {
  catalog?: string | undefined;
  json?: boolean | undefined;
}) => Promise<{ store: ReleaseStore; output: Output }>;

/** One command of `npm run release`. Parses its arguments before it opens the store. @throws UsageError */
export type Command = (args: string[], open: Open) => Promise<void>;
