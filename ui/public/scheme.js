// Sets the color scheme that the reader chose before anything is drawn, so that the page does not flash.
try {
  const chosen = localStorage.getItem('scheme');
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.scheme = chosen;
} catch {
  // Without storage, the system's scheme is used.
}
