import { requireOperator } from "../frame/operator";

/** Pages back that the URL remembers. Beyond them, "First page" leads back. */
const MAX_PAGES_BACK = 20;

/**
 * Links to the first, the previous and the next page of a list that is read by cursor. They keep the filters. `before` in the
 * URL has the cursors of the pages before this one, since a cursor leads forward only; "-" is that of the first.
 */
export async function Pager({ nextCursor }: { nextCursor: string | null }) {
  const { pageUrl } = await requireOperator();
  const url = new URL(pageUrl, "http://console");
  const current = url.searchParams.get("cursor");
  if (current === null && nextCursor === null) return null;
  const before = url.searchParams.get("before")?.split(".") ?? [];
  const linkWith = (cursor: string | null, pages: readonly string[]): string => {
    const params = new URLSearchParams(url.searchParams);
    for (const name of ["cursor", "before", "done", "formErrors"]) params.delete(name);
    if (cursor !== null) params.set("cursor", cursor);
    if (pages.length > 0) params.set("before", pages.slice(-MAX_PAGES_BACK).join("."));
    return `${url.pathname}${params.size > 0 ? `?${params}` : ""}`;
  };
  const previous = before.at(-1);
  return (
    <nav className="pager" aria-label="Pages">
      {current !== null && <a href={linkWith(null, [])}>First page</a>}
      {current !== null && previous !== undefined && (
        <a href={linkWith(previous === "-" ? null : previous, before.slice(0, -1))} rel="prev">
          Previous page
        </a>
      )}
      {nextCursor !== null && (
        <a href={linkWith(nextCursor, [...before, current ?? "-"])} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}
