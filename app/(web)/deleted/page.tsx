import { Notice } from "../components/notice";
import { StoreBillingNote } from "../components/store-billing-note";

export const metadata = { title: "Account deleted" };

export default function Page() {
  return (
    <div className="narrow">
      <h1>Account deleted</h1>
      <Notice>Your account and all of its data have been deleted.</Notice>
      <StoreBillingNote />
      <p className="aside">
        <a href="/">Go to the home page</a>
      </p>
    </div>
  );
}
