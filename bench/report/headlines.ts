import { medianOf } from "../lib/table";
import type { Published } from "./published";

/** The figures that the README quotes: the median throughput of a workload's first row. */
const HEADLINES = [
  { label: "health probes", workload: "health" },
  { label: "update checks", workload: "version" },
  { label: "subscription status requests", workload: "subscription-status" },
  { label: "push notifications", workload: "push-delivery" },
  { label: "billing events, acknowledged once they are durable", workload: "webhook" },
  { label: "push registrations of new devices", workload: "push-register" },
  { label: "sign-ins, at bcrypt cost 10", workload: "login" },
];

/** A table of the medians, rounded to two digits; empty if there are none. */
export function headlines(published: Published): string {
  const rows = HEADLINES.flatMap(({ label, workload }) => {
    const throughput = published[workload]?.rows[0]?.throughput;
    if (!throughput || typeof throughput === "string") return [];
    return [`| ${label} | ${twoDigits(medianOf(throughput.figure))} |`];
  });
  if (rows.length === 0) return "";
  return ["| one instance, two shared cores | per second |", "| --- | ---: |", ...rows].join("\n");
}

const twoDigits = (figure: number) => Number(figure.toPrecision(2)).toLocaleString("en-US");
