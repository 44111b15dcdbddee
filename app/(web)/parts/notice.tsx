import type { ReactNode } from "react";

/** What was done or what went wrong, above what it is about. */
export function Notice({ kind = "done", children }: { kind?: "done" | "wrong"; children: ReactNode }) {
  return (
    <p className={`notice ${kind}`} role={kind === "wrong" ? "alert" : "status"}>
      {children}
    </p>
  );
}
