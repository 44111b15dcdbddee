import type { ReactNode } from "react";

/** A success or error message above the content it concerns. */
export function Notice({ kind = "success", children }: { kind?: "success" | "error"; children: ReactNode }) {
  return (
    <p className={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      {children}
    </p>
  );
}
