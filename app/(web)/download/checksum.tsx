import { CopyButton } from "../components/copy-button";

/** A file's SHA-256 in hexadecimal. With JavaScript, a button copies it. */
export function Checksum({ sha256 }: { sha256: string }) {
  return (
    <p className="checksum">
      SHA-256 <code>{sha256}</code> <CopyButton text={sha256} name="SHA-256" />
    </p>
  );
}
