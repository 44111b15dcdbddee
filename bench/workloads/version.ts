import { SELECTION } from "../fixtures/catalog";
import type { Bench } from "../lib/bench";
import { massGet } from "../lib/mass-get";

const path = `/api/version?${SELECTION}&current=1.0.0`;

/** A desktop client's update check. */
export const version = (bench: Bench) => massGet(bench, { title: "version", path });

/** The same by a client that knows the answer. */
export const versionUnchanged = (bench: Bench) =>
  massGet(bench, { title: "version, If-None-Match", path, conditional: true });
