import { Notice } from "../parts/notice";
import { StoreNote } from "../parts/store-note";

export const metadata = { title: "Account deleted" };

export default function Page() {
  return (
    <div className="narrow">
      <h1>Goodbye</h1>
      <Notice>Your account is deleted, with everything that belonged to it.</Notice>
      <StoreNote />
      <p className="aside">
        <a href="/">To the start page</a>
      </p>
    </div>
  );
}
