"use client";

import { useEffect } from "react";

/** Reloads a page that the browser restores from its back/forward cache: the user may have signed out since. */
export function ReloadRestoredPage() {
  useEffect(() => {
    const onShow = ({ persisted }: PageTransitionEvent) => {
      if (persisted) window.location.reload();
    };
    window.addEventListener("pageshow", onShow);
    return () => window.removeEventListener("pageshow", onShow);
  }, []);
  return null;
}
