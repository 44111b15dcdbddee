"use client";

import { useEffect } from "react";

/** Asks for the page anew where the back button brings it back as it was: somebody may have signed out since. */
export function NeverStale() {
  useEffect(() => {
    const onShow = ({ persisted }: PageTransitionEvent) => {
      if (persisted) window.location.reload();
    };
    window.addEventListener("pageshow", onShow);
    return () => window.removeEventListener("pageshow", onShow);
  }, []);
  return null;
}
