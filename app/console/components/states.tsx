import type { ReactNode } from "react";

/** In place of a list without entries: why it is empty, and what fills it. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <p className="state-title">{title}</p>
      {children && <div>{children}</div>}
    </div>
  );
}

/** In place of content that cannot be shown. */
export function ErrorState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state failed" role="alert">
      <h1 className="state-title">{title}</h1>
      {children && <div>{children}</div>}
    </div>
  );
}
