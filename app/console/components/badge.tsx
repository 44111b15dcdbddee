import type { ReactNode } from "react";

export type Tone = "good" | "bad" | "warning" | "active" | "neutral";

/** A status in a word or two. The text says it; the color only repeats it. */
export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
