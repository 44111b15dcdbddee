import type { Bench } from "../../lib/bench";
import { compareGet } from "../../lib/compare-get";

/** A load balancer's probe. */
export const health = (bench: Bench) => compareGet(bench, { title: "health", path: "/api/health" });
