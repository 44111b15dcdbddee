import type { ReactNode } from "react";

/** A message above the content it concerns. `info` is neither a success nor an error. */
export function Notice({ kind = "success", children }: { kind?: "success" | "info" | "error"; children: ReactNode }) {
  return (
    <p className={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      {children}
    </p>
  );
}
