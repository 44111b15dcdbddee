"use client";

import { useEffect } from "react";

/** Opens the new place of a link to `/docs#name`, from when the reference was one page. */
export function OldLinks({ hrefs }: { hrefs: Record<string, string> }) {
  useEffect(() => {
    const name = decodeURIComponent(window.location.hash.slice(1));
    const href = Object.hasOwn(hrefs, name) ? hrefs[name] : undefined;
    if (href) window.location.replace(href);
  }, [hrefs]);
  return null;
}
