"use client";

import { useState } from "react";
import { useTexts } from "../language/site-context";
import { DOWNLOAD } from "./texts";

const COPIED_MS = 2_000;

/** A file's SHA-256 in hexadecimal. With JavaScript, a button copies it. */
export function Checksum({ sha256 }: { sha256: string }) {
  const { copy, copied } = useTexts(DOWNLOAD);
  const [isCopied, setCopied] = useState(false);
  const write = async () => {
    await navigator.clipboard.writeText(sha256);
    setCopied(true);
    window.setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <p className="checksum">
      SHA-256 <code>{sha256}</code>{" "}
      <button type="button" className="copy" aria-label={`${isCopied ? copied : copy}: SHA-256`} onClick={write}>
        {isCopied ? copied : copy}
      </button>
    </p>
  );
}
