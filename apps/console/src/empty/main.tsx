import { StrictMode, useState, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';

/** A React page that does nothing: beside it the console's first load and one step in it are measured. */
function Empty(): ReactElement {
  const [pressed, setPressed] = useState(0);
  return (
    <main>
      <h1>{pressed === 0 ? 'Empty' : `Pressed ${pressed}`}</h1>
      <button type="button" onClick={() => setPressed(pressed + 1)}>
        Press
      </button>
    </main>
  );
}

const place = document.getElementById('console');
if (!place) throw new Error('the page has no place for it');
createRoot(place).render(
  <StrictMode>
    <Empty />
  </StrictMode>,
);
