"use client";

import { type ChangeEvent, useEffect, useRef, useState } from "react";
import { Notice } from "../../../(web)/components/notice";
import { type KnownUpload, UploadError, uploadFile } from "./upload-file";

type Transfer = { file: File; offsetBytes: number; state: "uploading" | "paused" | "complete"; error?: string };

/**
 * Uploads the files that the operator chooses, several at a time. A file that was uploaded in part, also before the page was
 * reloaded, is continued when it is chosen again.
 */
export function UploadFiles({ known }: { known: readonly KnownUpload[] }) {
  const [transfers, setTransfers] = useState<readonly Transfer[]>([]);
  const [isKept, setKept] = useState(false);
  const running = useRef(new Map<File, AbortController>());
  const created = useRef(new Map<File, string>());

  const update = (file: File, change: Partial<Transfer>) =>
    setTransfers((all) => all.map((one) => (one.file === file ? { ...one, ...change } : one)));
  const start = async (file: File) => {
    const aborting = new AbortController();
    running.current.set(file, aborting);
    update(file, { state: "uploading", error: "" });
    try {
      const id =
        created.current.get(file) ??
        known.find((one) => `${one.fileName} ${one.sizeBytes} ${one.lastModified}` === keyOf(file))?.id;
      await uploadFile(file, id, {
        signal: aborting.signal,
        onCreated: (newId) => created.current.set(file, newId),
        onProgress: (offsetBytes) => update(file, { offsetBytes }),
      });
      update(file, { state: "complete" });
    } catch (error) {
      update(file, { state: "paused", error: error instanceof UploadError ? error.message : "" });
    }
    running.current.delete(file);
  };
  const isDone = transfers.length > 0 && transfers.every(({ state }) => state === "complete");
  // The page then has the form that publishes them. While one is under way, it would break off.
  useEffect(() => {
    if (!isDone) return;
    if (isFilledIn()) setKept(true);
    else window.location.reload();
  }, [isDone]);
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])].filter((file) => file.size > 0);
    event.target.value = "";
    setTransfers((all) => [
      ...all.filter(({ file }) => !files.some((other) => keyOf(file) === keyOf(other))),
      ...files.map((file): Transfer => ({ file, offsetBytes: 0, state: "uploading" })),
    ]);
    for (const file of files) void start(file);
  };

  return (
    <>
      <div className="field">
        <label htmlFor="files">Files</label>
        <p className="hint" id="files-hint">
          Choose a file again to continue its upload, also after a reload.
        </p>
        <input id="files" type="file" multiple onChange={choose} aria-describedby="files-hint" />
      </div>
      <ul className="transfers">
        {transfers.map((transfer) => (
          <TransferRow
            key={keyOf(transfer.file)}
            transfer={transfer}
            pause={() => running.current.get(transfer.file)?.abort()}
            resume={() => void start(transfer.file)}
          />
        ))}
      </ul>
      {isDone && isKept && (
        <Notice kind="info">
          The form below does not have what has arrived now.{" "}
          <a href="/console/releases/upload">Show all files in the form</a>, which loses what you have entered there.
        </Notice>
      )}
    </>
  );
}

const PUBLISH_FORM = "form[action='/forms/console/publishReleases']";

/** Whether something was entered in the form that publishes: a reload would lose it. */
function isFilledIn(): boolean {
  const fields = document.querySelector(PUBLISH_FORM)?.querySelectorAll<HTMLInputElement>("input, textarea") ?? [];
  return [...fields].some((one) => one.value !== one.defaultValue || one.checked !== one.defaultChecked);
}

/** Identifies the same file after a reload. */
const keyOf = ({ name, size, lastModified }: File): string => `${name} ${size} ${lastModified}`;

type RowProps = { transfer: Transfer; pause: () => void; resume: () => void };

function TransferRow({ transfer: { file, offsetBytes, state, error }, pause, resume }: RowProps) {
  const percent = Math.floor((offsetBytes / file.size) * 100);
  return (
    <li>
      <span className="file-name">{file.name}</span>
      <progress value={offsetBytes} max={file.size} aria-label={`Upload of ${file.name}`} />
      <span role="status">
        {state === "complete" ? "Uploaded" : state === "paused" ? `Stopped at ${percent}%` : `${percent}%`}
      </span>
      {error && <span className="field-error">{error}</span>}
      {state === "uploading" && (
        <button type="button" className="quiet" onClick={pause} aria-label={`Pause ${file.name}`}>
          Pause
        </button>
      )}
      {state === "paused" && (
        <button type="button" className="quiet" onClick={resume} aria-label={`Resume ${file.name}`}>
          Resume
        </button>
      )}
    </li>
  );
}
