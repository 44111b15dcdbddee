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

/** The same for a search that has read its most rows and found none. */
export function NoneYet({ of }: { of: string }) {
  return (
    <EmptyState title={`None among the newest ${of}`}>The next page continues the search with older ones.</EmptyState>
  );
}
