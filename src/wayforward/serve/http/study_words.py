"""What pages of a study say around a protocol's own texts, by language."""

WORDS = {
    "en": {
        "begin": "Begin in English", "minutes": "It takes about {} minutes.", "agree": "I agree, begin",
        "next": "Continue",
        "later": "Save, and go on later", "saved": "Your answers on this page are saved.",
        "progress": "Page {} of about {}", "withdraw": "Stop and delete my answers", "consent": "Before you begin",
        "code": "Your way back",
        "keep": "Note this link. With it you go on later. It is shown only now.", "go": "Go on",
        "problem": "Please look at this", "waiting": "The next part comes later",
        "until": "It begins on {}. Please come back then by your link.", "end": "The end", "finished": "Thank you",
        "completion": "Your completion code:", "sure": "Everything that you answered is deleted. Nobody can undo it.",
        "back": "No, go back", "plan": "Your profile and the plan", "item": "What", "now": "Now", "then": "Plan",
    },
    "de": {
        "begin": "Auf Deutsch beginnen", "minutes": "Es dauert etwa {} Minuten.", "agree": "Einverstanden, beginnen",
        "next": "Weiter", "later": "Speichern und später weitermachen", "saved": "Ihre Antworten sind gespeichert.",
        "progress": "Seite {} von etwa {}", "withdraw": "Aufhören und meine Antworten löschen",
        "consent": "Bevor Sie beginnen", "code": "Ihr Weg zurück",
        "keep": "Notieren Sie diesen Link. Mit ihm machen Sie später weiter. Er wird nur jetzt gezeigt.",
        "go": "Weiter",
        "problem": "Bitte sehen Sie hier nach", "waiting": "Der nächste Teil kommt später",
        "until": "Er beginnt am {}. Bitte kommen Sie dann über Ihren Link wieder.", "end": "Ende",
        "finished": "Vielen Dank", "completion": "Ihr Code für die Teilnahme:",
        "sure": "Alles, was Sie geantwortet haben, wird gelöscht. Niemand kann das zurücknehmen.",
        "back": "Nein, zurück", "plan": "Ihr Profil und der Plan", "item": "Was", "now": "Jetzt", "then": "Plan",
    },
}  # fmt: skip
