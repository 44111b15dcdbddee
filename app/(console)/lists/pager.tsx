import { requireOperator } from "../frame/operator";

/** Links to the first and the next page of a list that is read by cursor. They keep the filters. */
export async function Pager({ nextCursor }: { nextCursor: string | null }) {
  const { pageUrl } = await requireOperator();
  const url = new URL(pageUrl, "http://console");
  const isFirst = !url.searchParams.has("cursor");
  if (isFirst && nextCursor === null) return null;
  const linkWith = (cursor: string | null): string => {
    const params = new URLSearchParams(url.searchParams);
    for (const name of ["cursor", "done", "formErrors"]) params.delete(name);
    if (cursor !== null) params.set("cursor", cursor);
    return `${url.pathname}${params.size > 0 ? `?${params}` : ""}`;
  };
  return (
    <nav className="pager" aria-label="Pages">
      {isFirst ? null : <a href={linkWith(null)}>First page</a>}
      {nextCursor === null ? null : (
        <a href={linkWith(nextCursor)} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}
