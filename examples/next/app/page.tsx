import { Account } from "./account";

export default function Page() {
  return (
    <main>
      <h1>Acme</h1>
      <Account />
    </main>
  );
}
