import type { ReactNode } from "react";

/** In place of a missing value. On narrow screens, tables leave it out. */
export function Dash() {
  return <span className="dash">–</span>;
}

export type Tone = "good" | "bad" | "warning" | "active" | "neutral";

/** A status in a word or two. The text says it; the color only repeats it. */
export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

type Props = { accountId: string | null; accountEmail: string | null };

/** The account in a row of a list, by its email, or by its id if it was deleted. */
export function AccountLink({ accountId, accountEmail }: Props) {
  return accountId && <a href={`/console/accounts/${accountId}`}>{accountEmail ?? accountId}</a>;
}
